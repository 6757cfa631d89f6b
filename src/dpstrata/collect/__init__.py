"""What respondents use: the kit of a survey, the page that randomises answers, and a preview of it."""
