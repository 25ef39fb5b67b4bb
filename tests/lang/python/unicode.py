text = "héllo wörld ✓ 日本語 🎉"
print(text)
print(len(text))
