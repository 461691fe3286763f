"""Notifications: which states of a session are worth a message, and how the message reaches its user.

    SessionSnapshot --> triggers --> Alert --> Notification --> queue --> delivery --> channel

What a session is doing comes from above (`turnlog.api.notifications` converts the rows of the live board), so this room
doesn't depend on `live`.
"""
