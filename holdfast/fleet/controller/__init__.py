"""The controller process: stores reports, decides, and carries out actions."""
