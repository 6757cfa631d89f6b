"""Files: tables read as they come, and results written whole or not at all."""
