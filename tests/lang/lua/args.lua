for _, word in ipairs(arg) do
	print("[" .. word .. "]")
end
