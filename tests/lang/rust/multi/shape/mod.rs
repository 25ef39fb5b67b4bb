pub mod rectangle;
