export interface Rectangle {
	width: number;
	height: number;
}

export const area = ({ width, height }: Rectangle): number => width * height;
