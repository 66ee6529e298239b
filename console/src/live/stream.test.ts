import { afterEach, expect, test, vi } from "vitest";
import { Client } from "./client";
import { pauseSeconds, Stream, type Listener } from "./stream";

afterEach(() => {
  vi.unstubAllGlobals();
});

test("pauses grow to a bound and are spread", () => {
  expect(pauseSeconds(1, 0.5)).toBe(0.5);
  expect(pauseSeconds(3, 0.5)).toBe(2);
  expect(pauseSeconds(99, 1)).toBeLessThan(20);
  expect(pauseSeconds(2, 0)).not.toBe(pauseSeconds(2, 1));
});

/** What the listener is seen, in order, when the server sends `text` and the state is read in between. */
async function follow(body: string | ReadableStream, status = 200): Promise<string[]> {
  const seen: string[] = [];
  vi.stubGlobal("window", globalThis);
  vi.stubGlobal("fetch", async () => new Response(body, { status }));
  return new Promise((resolve) => {
    const listener: Listener = {
      resync: () => new Promise((done) => setTimeout(() => done(void seen.push("resync")), 5)),
      message: (kind, data) => seen.push(`${kind} ${JSON.stringify(data)}`),
      live: () => seen.push("live"),
      lost: (reason) => resolve([...seen, `lost: ${reason}`]),
      signedOut: (reason) => resolve([...seen, `signed out: ${reason}`]),
    };
    const stream = new Stream(new Client("http://127.0.0.1/"), listener);
    stream.start();
    setTimeout(() => {
      stream.stop();
      resolve(seen);
    }, 60);
  });
}

/** A stream that has said this and is still open. */
function said(...chunks: string[]): ReadableStream {
  return new ReadableStream({
    start: (controller) => chunks.forEach((chunk) => controller.enqueue(new TextEncoder().encode(chunk))),
  });
}

test("what came while the whole was read is seen after it, even when cut in the middle of a message", async () => {
  const seen = await follow(said('event: node\ndata: {"na', 'me":"n1"}\n\n: still here\n\nevent: fleet\ndata: {}\n\n'));
  expect(seen).toEqual(["resync", 'node {"name":"n1"}', "fleet {}", "live"]);
});

test("a message that is no JSON is skipped, the next is seen", async () => {
  const seen = await follow(said("event: node\ndata: {oops\n\nevent: node\ndata: 1\n\n"));
  expect(seen).toEqual(["resync", "node 1", "live"]);
});

test("a refused token ends the trying", async () => {
  expect(await follow('{"error":"this token is not known"}', 401)).toEqual(["signed out: this token is not known"]);
});

test("a controller in trouble is a lost connection with its own words", async () => {
  expect(await follow('{"error":"the store does not answer"}', 503)).toEqual(["lost: the store does not answer"]);
});
