// What only whoever started the server can do: asked for by a line on standard output, answered by one on standard input.

import assert from 'node:assert/strict';
import { createInterface } from 'node:readline';

let answers;

/** Asks for something and waits until it is done: `kill server`, `start server`, or `ask` for a question of the court. */
export async function stage(request) {
  answers ??= createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  console.log(`stage: ${request}`);
  assert.equal((await answers.next()).value, 'done', `nobody answered: ${request}`);
}

/** Nothing more will be asked. */
export const leaveStage = () => process.stdin.destroy();
