text='héllo wörld ✓ 日本語 🎉'
echo "$text"
echo ${#text}
