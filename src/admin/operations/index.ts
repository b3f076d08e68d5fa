// Every operation of the admin API.
import type { Operation } from '../operation.ts';
import { accountOperations } from './accounts.ts';
import { gatewayOperations } from './gateway.ts';
import { documentOperation, sessionOperations, streamOperations } from './session.ts';
import { trafficOperations } from './traffic.ts';

const described: readonly Operation[] = [
  ...accountOperations,
  ...trafficOperations,
  ...gatewayOperations,
  ...streamOperations,
  ...sessionOperations,
];

export const OPERATIONS: readonly Operation[] = [...described, documentOperation(described)];
