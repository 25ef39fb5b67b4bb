const { width, height } = require('./numbers');
const shapes = require('./shapes');
const { unit } = require('./unit.json');

// A script may load a module of the other kind as well.
import('./shapes/label.mjs').then(({ default: label }) => {
	console.log(label, shapes.area(width, height) * unit);
});
