// Runs beside the program: each .js file that is imported is told apart like the first.
import { fileURLToPath } from 'node:url';
import detect from './detect.cjs';

export async function load(url, context, next) {
	if (context.format === 'commonjs' && url.startsWith('file:') && url.endsWith('.js') &&
	    detect.isModule(fileURLToPath(url)))
		return next(url, { ...context, format: 'module' });
	return next(url, context);
}
