"""XLSForms, the workbooks that ODK, KoboToolbox and others make forms from, read as questionnaires."""
