exports.width = 6;
exports.height = 7;
