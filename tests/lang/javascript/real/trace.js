import readline from 'node:readline';

const form = /^(?<verb>get|put|drop|wait)\s+(?<subject>\S+)(?:\s+(?<rest>.*))?$/u;

function repeated({ verb, subject, rest }) {
	const [, count] = /^x(\d+)$/.exec(rest ?? '') ?? [, '1'];

	return Array.from({ length: Number(count) }, () => ({ verb, key: subject }));
}

function parse(text) {
	const match = form.exec(text);

	if (!match)
		throw new SyntaxError(`cannot read "${text}"`);
	const { verb, subject, rest } = match.groups;
	switch (verb) {
	case 'wait':
		if (!/^\d+$/.test(subject))
			throw new RangeError(`"${subject}" is no time`);
		return [{ verb, time: Number(subject) }];
	case 'put': {
		const options = new URLSearchParams(rest);
		return [{ verb, key: subject, ttl: options.has('ttl') ? Number(options.get('ttl')) : Infinity }];
	}
	default:
		return repeated(match.groups);
	}
}

export async function readTrace(input) {
	const trace = { events: [], keys: new Map(), mistakes: [], capacities: [2] };
	let number = 0;

	for await (const raw of readline.createInterface({ input, crlfDelay: Infinity })) {
		const text = raw.replace(/\s*#.*/, '').trim();

		number++;
		if (text.startsWith('capacities ')) {
			trace.capacities = text.split(/\s+/).slice(1).map(Number);
			continue;
		}
		if (!text)
			continue;
		try {
			for (const event of parse(text)) {
				trace.events.push(event);
				if (event.key)
					trace.keys.set(event.key, (trace.keys.get(event.key) ?? 0) + 1);
			}
		} catch (error) {
			if (!(error instanceof SyntaxError || error instanceof RangeError))
				throw error;
			trace.mistakes.push({ line: number, reason: `${error.name}: ${error.message}` });
		}
	}
	return trace;
}
