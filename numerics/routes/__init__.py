"""One module a route to evidence; each starts from the definition and none uses another's closed form."""
