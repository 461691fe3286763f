"""The quest: sessions as a game. What happens in them becomes game events, experience, levels and chests."""
