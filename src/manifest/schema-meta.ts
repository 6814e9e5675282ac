/**
 * Owns: the schemas of what many v1 types share: metadata, references, selectors.
 */
import type { LocalObjectReference, ObjectMeta, OwnerReference } from '../api/pod.ts';
import {
  any,
  flagOrNone,
  int64,
  int64OrNone,
  list,
  map,
  object,
  record,
  struct,
  text,
  textKept,
  time,
} from './schema.ts';
import type { AnySchema } from './schema.ts';

export const localReference = object<LocalObjectReference>({ name: text });

export const labelSelector = record({
  matchLabels: map(text),
  matchExpressions: list<unknown>(
    record({ key: text, operator: text, values: list<string>(text) }),
  ),
});

const managedField = record({
  manager: text,
  operation: text,
  apiVersion: text,
  time,
  fieldsType: text,
  fieldsV1: any,
  subresource: text,
});

export const objectMeta = struct<ObjectMeta>({
  name: textKept,
  generateName: text,
  namespace: textKept,
  uid: textKept,
  labels: map<string>(text),
  annotations: map<string>(text),
  creationTimestamp: time,
  deletionTimestamp: time,
  deletionGracePeriodSeconds: int64OrNone,
  finalizers: list<string>(text),
  generation: int64,
  resourceVersion: text,
  selfLink: text,
  ownerReferences: list<OwnerReference>(
    object<OwnerReference>({
      apiVersion: textKept,
      kind: textKept,
      name: textKept,
      uid: textKept,
      controller: flagOrNone,
      blockOwnerDeletion: flagOrNone,
    }),
  ),
  managedFields: list<unknown>(managedField),
});

/** `apiVersion` and `kind` are read before, when the schema is chosen. */
export const typeMeta: Record<'apiVersion' | 'kind', AnySchema> = {
  apiVersion: textKept,
  kind: textKept,
};
