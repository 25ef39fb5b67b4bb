// A program of nothing, for the zygote: it is how the loader of modules is made ready (ember.cjs).
import path from 'node:path';

export default path.basename(import.meta.url);
