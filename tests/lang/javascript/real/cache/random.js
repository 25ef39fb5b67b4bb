import { Cache } from './base.js';

// Always the same chances: a generator of our own with a fixed start.
function* numbers(seed) {
	for (let state = seed; ; ) {
		state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
		yield state / 2 ** 32;
	}
}

export class Random extends Cache {
	#numbers = numbers(42);

	victim() {
		return [...this.entries.keys()][Math.floor(this.#numbers.next().value * this.entries.size)];
	}
}
