"""Which questions one person is asked together: the search for forms and for the prices that prove them."""
