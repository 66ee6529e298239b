/** Reads a stream of server-sent events to its end, with a token, which an EventSource cannot send. */

import { createParser } from "eventsource-parser";
import type { Client } from "./client";

export async function readEvents(client: Client, path: string, take: (kind: string, data: unknown) => void, signal: AbortSignal): Promise<void> {
  const response = await client.open(path, "text/event-stream", { signal });
  const parser = createParser({ onEvent: ({ event = "message", data }) => take(event, JSON.parse(data)) });
  const decoder = new TextDecoder();
  const reader = response.body?.getReader();
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) return;
    parser.feed(decoder.decode(value, { stream: true }));
  }
}
