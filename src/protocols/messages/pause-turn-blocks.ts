// Collects the blocks of a stream exactly as the provider wrote them: a paused turn continues only if it is sent back unchanged.
import { isObject, type JsonObject, type JsonValue } from '../../canonical/json.ts';
import { keepSource, mayDiffer } from '../json/raw-arguments.ts';
import { argumentsToObject } from '../shared/tool-names.ts';
import { text } from './wire-types.ts';
import { addMembers } from './stream/decoder-blocks.ts';

const STEPS = ['content_block'];

interface Building {
  block: JsonObject;
  /** Pieces of its input so far. */
  json: string;
  open: boolean;
}

export class TurnBlocks {
  readonly #order: Building[] = [];
  readonly #byIndex = new Map<unknown, Building>();

  /** A content_block_* event, which was read from `source`. */
  push(value: JsonObject, source: string): void {
    const { type, index, content_block: block, delta } = value;
    if (type === 'content_block_start') {
      if (isObject(block)) this.#start(index, block, source);
      return;
    }
    const building = this.#byIndex.get(index);
    if (building === undefined) return;
    if (type === 'content_block_stop') building.open = false;
    else if (isObject(delta)) add(building, delta);
  }

  #start(index: unknown, block: JsonObject, source: string): void {
    const before = this.#byIndex.get(index);
    // llama.cpp once sent the start of an open block twice.
    if (before?.open === true && before.block.type === block.type) return;
    if (mayDiffer(block.input)) keepSource(source, [{ holder: block, name: 'input', steps: STEPS }]);
    const building = { block: copyOf(block), json: '', open: true };
    this.#order.push(building);
    this.#byIndex.set(index, building);
  }

  all(): JsonObject[] {
    return this.#order.map(whole);
  }
}

/** Deltas are added to the copy; the frame's own value has other readers. */
function copyOf(block: JsonObject): JsonObject {
  const { citations } = block;
  return Array.isArray(citations) ? { ...block, citations: [...citations] } : { ...block };
}

function add(building: Building, delta: JsonObject): void {
  const { block } = building;
  switch (delta.type) {
    case 'text_delta':
      block.text = (text(block.text) ?? '') + (text(delta.text) ?? '');
      return;
    case 'thinking_delta':
      block.thinking = (text(block.thinking) ?? '') + (text(delta.thinking) ?? '');
      return;
    case 'signature_delta':
      block.signature = delta.signature ?? block.signature ?? null;
      return;
    case 'input_json_delta':
      building.json += text(delta.partial_json) ?? '';
      return;
    case 'citations_delta':
      cite(block, delta.citation);
      return;
    default:
      addMembers(block, delta);
  }
}

function cite(block: JsonObject, citation: JsonValue | undefined): void {
  if (citation === undefined) return;
  if (Array.isArray(block.citations)) block.citations.push(citation);
  else block.citations = [citation];
}

/** An input that is no object stays as the start frame had it. */
function whole({ block, json }: Building): JsonObject {
  if (json === '') return block;
  const { value: input, repaired } = argumentsToObject(json);
  return repaired ? block : { ...block, input };
}
