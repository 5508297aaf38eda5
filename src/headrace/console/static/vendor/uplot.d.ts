// What the console uses of uPlot, for the type checker.
export default class uPlot {
  constructor(options: any, data: any, target: Element);
  readonly data: (number | null)[][];
  setData(data: any): void;
  setSize(size: { width: number; height: number }): void;
  destroy(): void;
}
