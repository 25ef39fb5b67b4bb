exports.area = require('./rectangle.cjs');
