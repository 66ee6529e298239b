/**
 * The loop of the live view: subscribe, read the whole state, then follow. A lost connection is shown at once and retried
 * with growing pauses. After a reconnect everything is read again, because events were missed.
 */

import { createParser, type EventSourceMessage } from "eventsource-parser";
import { Refused, type Client } from "./client";

export interface Listener {
  /** Read the whole state; called once per connection, while the stream is already open. */
  resync(): Promise<void>;
  /** Messages that arrive during `resync` are delivered after it, in order. */
  message(kind: string, data: unknown): void;
  live(): void;
  lost(reason: string, retrySeconds: number): void;
  signedOut(reason: string): void;
}

const FIRST_PAUSE_SECONDS = 0.5;
const LONGEST_PAUSE_SECONDS = 15;
/** The controller sends at least a comment every 15 s; four times that counts as lost. */
const SILENCE_SECONDS = 60;

export function pauseSeconds(failures: number, random: number): number {
  const pause = Math.min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** Math.max(0, failures - 1));
  return pause * (0.75 + random / 2); // random, so that not all tabs reconnect to a restarted controller at once
}

export class Stream {
  private stopping = new AbortController();
  private wake: (() => void) | null = null;

  constructor(
    private readonly client: Client,
    private readonly listener: Listener,
  ) {}

  start(): void {
    void this.run();
  }

  stop(): void {
    this.stopping.abort();
    this.retryNow();
  }

  retryNow(): void {
    this.wake?.();
  }

  private async run(): Promise<void> {
    let failures = 0;
    while (!this.stopping.signal.aborted) {
      let reason = "";
      try {
        await this.follow(() => (failures = 0));
      } catch (error) {
        if (this.stopping.signal.aborted) return;
        if (error instanceof Refused && error.status === 401) return this.listener.signedOut(error.message);
        reason = describe(error);
      }
      if (this.stopping.signal.aborted) return;
      const pause = pauseSeconds(++failures, Math.random());
      // The controller closes a stream that lags behind. This is no loss unless the reconnect fails.
      if (reason) this.listener.lost(reason, pause);
      await this.sleep(pause);
    }
  }

  private async follow(connected: () => void): Promise<void> {
    const connection = new AbortController();
    const end = (): void => connection.abort(this.stopping.signal.reason);
    this.stopping.signal.addEventListener("abort", end);
    let waiting: EventSourceMessage[] | null = [];
    const hand = (message: EventSourceMessage): void => this.hand(message);
    const parser = createParser({
      onEvent: (message) => (waiting ? waiting.push(message) : hand(message)),
    });
    try {
      const response = await this.client.open("v1/stream", "text/event-stream", { signal: connection.signal });
      if (!response.body) throw new Error("the controller sent no stream");
      const reading = read(response.body, (text) => parser.feed(text), connection);
      reading.catch(() => undefined); // awaited below, after the state was read
      await Promise.race([this.listener.resync(), reading.then(() => Promise.reject(new Error("the stream ended")))]);
      waiting.forEach(hand);
      waiting = null;
      connected();
      this.listener.live();
      await reading;
    } finally {
      this.stopping.signal.removeEventListener("abort", end);
      connection.abort();
    }
  }

  private hand(message: EventSourceMessage): void {
    let data: unknown;
    try {
      data = JSON.parse(message.data);
    } catch {
      return; // one unreadable message is no reason to drop the connection; the next resync heals it
    }
    this.listener.message(message.event ?? "message", data);
  }

  private sleep(seconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, seconds * 1000);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

async function read(
  body: ReadableStream<Uint8Array>,
  take: (text: string) => void,
  connection: AbortController,
): Promise<void> {
  const silence = (): number =>
    window.setTimeout(() => connection.abort(new Error(`no message for ${SILENCE_SECONDS} s`)), SILENCE_SECONDS * 1000);
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let timer = silence();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = silence();
      take(decoder.decode(value, { stream: true }));
    }
  } finally {
    clearTimeout(timer);
  }
}

function describe(error: unknown): string {
  if (error instanceof Refused) return error.message;
  if (error instanceof TypeError) return "the controller does not answer"; // what fetch throws for a dead connection
  return error instanceof Error ? error.message : String(error);
}
