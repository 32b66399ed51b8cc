// A quorum queue of RabbitMQ through amqplib; each sender and each worker has a connection of its own. Messages are
// confirmed by the server once they are durable; acknowledgements of consumers are not confirmed in AMQP, so a job counts
// as done when its acknowledgement was sent.
import { connect } from "amqplib";

export async function prepare({ url }) {
  const { channel, queue } = await open(url);
  await channel.assertQueue(queue, { durable: true, arguments: { "x-queue-type": "quorum" } });
}

/** Gives a function with which one of the senders submits so many jobs; it resolves when they are durable. */
export async function sender({ url, senders, payload }) {
  const links = await Promise.all(Array.from({ length: senders }, () => open(url)));
  const body = Buffer.from(JSON.stringify(payload));
  return (count, number) => {
    const { channel, queue } = links[number];
    for (let job = 0; job < count; job++) channel.sendToQueue(queue, body, { persistent: true });
    return channel.waitForConfirms();
  };
}

let working = [];

/** Gives a function that begins to work; tells how many jobs were done. */
export async function worker({ url, batch, workers }, done) {
  working = await Promise.all(Array.from({ length: workers }, () => open(url)));
  await Promise.all(working.map(({ channel }) => channel.prefetch(batch)));
  return () => working.map((link) => consume(link, done));
}

/** All messages that arrived together are acknowledged by one frame. */
function consume({ channel, queue }, done) {
  let [last, count] = [undefined, 0];
  const acknowledge = () => {
    channel.ack(last, true);
    done(count);
    count = 0;
  };
  return channel.consume(queue, (message) => {
    last = message;
    if (count++ === 0) setImmediate(acknowledge);
  });
}

/** Waits until the server has received the acknowledgements: it answers after what came before on the same channel. */
export async function settled() {
  await Promise.all(working.map(({ channel, queue }) => channel.checkQueue(queue)));
}

async function open(url) {
  const [address, queue] = url.split("#");
  const connection = await connect(address, { noDelay: true });
  return { channel: await connection.createConfirmChannel(), queue };
}
