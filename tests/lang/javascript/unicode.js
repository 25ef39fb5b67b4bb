const text = 'héllo wörld ✓ 日本語 🎉';
console.log(text);
console.log([...text].length);
