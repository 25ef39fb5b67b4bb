import { label } from "./label";
import { area, type Rectangle } from "./shapes/rectangle.js";

const shape: Rectangle = { width: 6, height: 7 };
console.log(`${label()} ${area(shape)}`);
