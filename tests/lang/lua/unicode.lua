local text = "héllo wörld ✓ 日本語 🎉"
print(text)
print(utf8.len(text))
