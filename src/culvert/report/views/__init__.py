"""The data that the page's sections show, as text and numbers."""
