"""One module a proposition; :mod:`theory.catalogue` lists them."""
