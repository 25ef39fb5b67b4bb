local held = {}
while true do
	held[#held + 1] = ("x"):rep((1 << 20) + #held)
end
