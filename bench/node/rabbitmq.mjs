// A quorum queue of RabbitMQ through amqplib. Messages are confirmed by the server once they are durable;
// acknowledgements of consumers are not confirmed in AMQP, so a job counts as done when its acknowledgement is sent.
import { connect } from "amqplib";

export async function prepare({ url }) {
  const { channel, queue } = await open(url);
  await channel.assertQueue(queue, { durable: true, arguments: { "x-queue-type": "quorum" } });
}

/** Gives a function that hands in so many jobs and resolves when they are durable. */
export async function sender({ url, payload }) {
  const { channel, queue } = await open(url);
  const body = Buffer.from(JSON.stringify(payload));
  const publish = () =>
    new Promise((resolve, reject) => {
      const confirmed = (error) => (error ? reject(error) : resolve());
      channel.sendToQueue(queue, body, { persistent: true }, confirmed);
    });
  return (count) => Promise.all(Array.from({ length: count }, publish));
}

let working;

/** Gives a function that begins to work; tells how many jobs were done. */
export async function worker({ url, batch, workers }, done) {
  working = await open(url);
  const { channel, queue } = working;
  await channel.prefetch(batch * workers);
  return () =>
    channel.consume(queue, (message) => {
      channel.ack(message);
      done(1);
    });
}

/** Waits until the server has received the acknowledgements: it answers after what came before on the same channel. */
export async function settled() {
  await working.channel.checkQueue(working.queue);
}

async function open(url) {
  const [address, queue] = url.split("#");
  const connection = await connect(address);
  return { channel: await connection.createConfirmChannel(), queue };
}
