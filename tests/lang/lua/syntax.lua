print("never")

local broken = = 3
