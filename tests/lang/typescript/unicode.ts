const line: string = "héllo wörld ✓ 日本語 🎉";
console.log(line);
console.log([...line].length);
