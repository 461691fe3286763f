"""Sessions that continue from another point, in another form, or with another model."""
