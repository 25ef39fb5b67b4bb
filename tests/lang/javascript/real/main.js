// A simulation of caches: a trace of requests from standard input is played to several policies, which are compared.
import { readTrace } from './trace.js';
import { policies } from './cache/index.js';
import { Simulation } from './simulation.js';
import { table, histogram } from './report.js';

const trace = await readTrace(process.stdin);
const results = [];

console.log(`${trace.events.length} events, ${trace.keys.size} keys, ${trace.mistakes.length} mistakes`);
for (const { line, reason } of trace.mistakes)
	console.log(`  line ${line}: ${reason}`);

for (const capacity of trace.capacities)
	for (const [name, Policy] of Object.entries(policies)) {
		const simulation = new Simulation(new Policy(capacity));

		simulation.play(trace.events);
		results.push({ policy: name, capacity, ...simulation.result() });
	}

console.log();
for (const line of table(results, ['policy', 'capacity', 'hits', 'misses', 'evictions', 'expired', 'rate']))
	console.log(line);
console.log();
for (const line of histogram(trace.keys, 24))
	console.log(line);

const best = results.reduce((a, b) => (b.hits > a.hits ? b : a));
console.log();
console.log(JSON.stringify({
	best: { policy: best.policy, capacity: best.capacity, rate: best.rate },
	left: Object.fromEntries(results.filter((r) => r.capacity === best.capacity).map((r) => [r.policy, r.left])),
}, null, 2));
