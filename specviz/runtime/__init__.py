"""The models: where they come from, loading them, and passes over tokens with a cache."""
