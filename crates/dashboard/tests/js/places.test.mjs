// Devices stand where the wall shows them, and keys lead from place to place.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countStates, gridsFor, isWanted, placeAfter, placeAt, signOf } from '../../assets/js/pages/fleet/places.js';

const device = (id, state, node = 'PC-01') => ({ id, state, node: { id: node } });
const anything = { text: '', state: '', node: '' };

test('a hundred places per grid, always at least one grid', () => {
  assert.deepEqual([0, 1, 100, 101, 10000].map(gridsFor), [1, 1, 1, 2, 100]);
});

test('points fall on places', () => {
  assert.equal(placeAt(0, 0, 15), 0);
  assert.equal(placeAt(149.9, 0, 15), 9);
  assert.equal(placeAt(31, 46, 15), 32);
  assert.equal(placeAt(150, 10, 15), null);
  assert.equal(placeAt(-1, 10, 15), null);
});

test('arrow keys stop at the edges', () => {
  assert.equal(placeAfter(0, 'ArrowLeft'), 0);
  assert.equal(placeAfter(9, 'ArrowRight'), 9);
  assert.equal(placeAfter(9, 'ArrowDown'), 19);
  assert.equal(placeAfter(95, 'ArrowDown'), 95);
  assert.equal(placeAfter(5, 'ArrowUp'), 5);
  assert.equal(placeAfter(25, 'Home'), 20);
  assert.equal(placeAfter(25, 'End'), 29);
  assert.equal(placeAfter(25, 'x'), null);
});

test('what is not looked for fades, empty places stay', () => {
  assert.equal(signOf(device('sim-0001', 'idle'), anything), 'idle');
  assert.equal(signOf(device('sim-0001', 'idle'), { ...anything, state: 'error' }), 'idle-');
  assert.equal(signOf(undefined, { ...anything, state: 'error' }), 'empty');
});

test('wishes hold together', () => {
  assert.ok(isWanted(device('SIM-0001', 'idle'), { text: 'sim-00', state: 'idle', node: 'PC-01' }));
  assert.ok(!isWanted(device('SIM-0001', 'idle'), { text: 'sim-00', state: 'idle', node: 'PC-02' }));
});

test('devices are counted by state', () => {
  assert.deepEqual(countStates([device('a', 'idle'), device('b', 'error'), device('c', 'idle')]), { idle: 2, running: 0, offline: 0, error: 1 });
});
