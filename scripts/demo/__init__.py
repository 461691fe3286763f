"""The stories behind the demo sessions, and the recorder that writes them as the client would."""
