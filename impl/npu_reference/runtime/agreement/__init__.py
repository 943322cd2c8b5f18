"""Whether runs keep to what their session's options say."""
