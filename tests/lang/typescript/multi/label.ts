export function label(): string {
	return "multi";
}
