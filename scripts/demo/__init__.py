"""The stories behind the demo sessions, and the recorder that writes them down like the client would."""
