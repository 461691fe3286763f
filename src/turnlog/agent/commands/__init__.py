"""Commands and skills that people define in files, and files that prompts mention."""
