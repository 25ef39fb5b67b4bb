text = "héllo wörld ✓ 日本語 🎉"
puts text
puts text.length
