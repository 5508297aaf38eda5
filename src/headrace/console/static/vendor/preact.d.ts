// What the console uses of Preact, for the type checker.
export type Child = unknown;
export interface VNode {}
export function h(type: unknown, props: object | null, ...children: Child[]): VNode;
export function render(node: VNode, parent: Element): void;
export const Fragment: unknown;
