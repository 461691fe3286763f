"""Sessions that go on from another point, in another form, or with another model."""
