text='héllo wörld ✓ 日本語 🎉'
echo "$text"
# This shell counts bytes.
printf %s "$text" | wc -m
