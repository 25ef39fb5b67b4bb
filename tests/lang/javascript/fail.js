const data = JSON.parse('{}');


function reach(key) {
	return data[key].length;
}

reach('ember');
