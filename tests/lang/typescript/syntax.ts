console.log("before");
const one: number = 1;
const two: number = = 2;
console.log(one + two);
