"""What a person sees: the token stream, the controls, the texts."""
